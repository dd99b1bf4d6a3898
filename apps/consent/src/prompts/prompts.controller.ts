import { Controller, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, headerText, sendProblem } from '#platform/http-server';
import { problem } from '#platform/problem';
import { mayRead, type PageResult, PromptCalls } from './prompt-calls.ts';
import { PromptFeed } from './prompt-feed.ts';

/** What the approver's page reads and sends (fallback 1.2, 6). */
@Controller('api')
export class PromptsController {
  constructor(
    @Inject(PromptCalls) private readonly calls: PromptCalls,
    @Inject(PromptFeed) private readonly feed: PromptFeed,
  ) {}

  @Get('me')
  me(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(reply, { kind: 'answered', body: this.calls.me(callerOf(request)) });
  }

  @Get('prompts')
  async list(
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    send(reply, await this.calls.list(query, callerOf(request)));
  }

  /** Server-sent events: `prompt` with a question that opened, was renewed or closed, and `ping` every 15 s. */
  @Get('prompts/stream')
  stream(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const caller = callerOf(request);
    if (!mayRead(caller)) return void sendProblem(reply, problem('not_permitted'));
    // Only asked whether it is there: nobody would read what is sent.
    if (request.method === 'HEAD') return void reply.headers(STREAM_HEADERS).send();
    const { raw } = reply;
    const opened = { headers: false };
    const gone = this.feed.connect(caller, {
      write: (text) => {
        if (!opened.headers) raw.writeHead(200, { ...ownHeaders(reply), ...STREAM_HEADERS });
        opened.headers = true;
        raw.write(text);
      },
      buffered: () => raw.writableLength,
      end: (now) => void (now ? raw.destroy() : raw.end()),
    });
    if (gone === null) return void sendProblem(reply, problem('too_many_streams'));
    reply.hijack();
    raw.on('close', gone).on('error', gone);
  }

  @Get('prompts/:id')
  async one(
    @Param('id') id: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    send(reply, await this.calls.one(id, callerOf(request)));
  }

  @Post('prompts/:id/answer')
  @HttpCode(200)
  async answer(
    @Param('id') id: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const sentId = headerText(request, 'idempotency-key');
    send(reply, await this.calls.answer({ id, body: request.body, sentId, caller: callerOf(request) }));
  }
}

/**
 * A proxy that gathers what it hands on would show a question minutes late. A connection kept for a next call would
 * hold up the shutdown that has just ended its stream.
 */
const STREAM_HEADERS = {
  connection: 'close',
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const;

/** What a hook has set for every answer, which a stream would otherwise go without. */
function ownHeaders(reply: FastifyReply): Record<string, string> {
  const given = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

export function send(reply: FastifyReply, result: PageResult<object>): void {
  if (result.kind === 'refused') sendProblem(reply, result.problem);
  else void reply.status(200).header('cache-control', 'no-store').send(result.body);
}
