import { Controller, Get, HttpCode, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { mayDo } from '#platform/auth';
import { callerOf, headerText, sendProblem } from '#platform/http-server';
import { problem } from '#platform/problem';
import { AttemptCalls, type CallResult } from './attempt-calls.ts';

/** `POST .../attempt` and the answer's `location` (fallback 1.1). */
@Controller('api/agent/gpu-allocation')
export class AttemptController {
  constructor(@Inject(AttemptCalls) private readonly calls: AttemptCalls) {}

  @Post('attempt')
  @HttpCode(200)
  async attempt(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const caller = callerOf(request);
    if (!mayDo(caller, 'report')) return void sendProblem(reply, problem('not_permitted'));
    const result = await this.calls.attempt({
      body: request.body,
      sentId: headerText(request, 'idempotency-key'),
      messageName: null,
      subject: caller.subject,
    });
    send(reply, result);
  }

  @Get('results/:opaque')
  async result(
    @Param('opaque') opaque: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (!mayDo(callerOf(request), 'report')) return void sendProblem(reply, problem('not_permitted'));
    send(reply, await this.calls.result(opaque));
  }
}

function send(reply: FastifyReply, result: CallResult): void {
  switch (result.kind) {
    case 'answered':
      void reply.status(200).header('cache-control', 'no-store').send(result.body);
      return;
    case 'undecided':
      void reply
        .status(202)
        .headers({ location: result.location, 'cache-control': 'no-store' })
        .send(result.body);
      return;
    case 'refused':
      sendProblem(reply, result.problem);
  }
}
