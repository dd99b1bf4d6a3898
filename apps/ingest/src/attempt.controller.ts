import { Controller, Get, HttpCode, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { mayDo } from '#platform/auth';
import { callerOf, headerText, sendProblem } from '#platform/http-server';
import { problem } from '#platform/problem';
import { AttemptCalls } from './attempt-calls.ts';
import { Results } from './results.ts';
import { sendResult } from './send-result.ts';

/** `POST .../attempt`, and the `location` of every answer (fallback 1.1, failover 2). */
@Controller('api/agent/gpu-allocation')
export class AttemptController {
  constructor(
    @Inject(AttemptCalls) private readonly calls: AttemptCalls,
    @Inject(Results) private readonly results: Results,
  ) {}

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
    sendResult(reply, result);
  }

  @Get('results/:opaque')
  async result(
    @Param('opaque') opaque: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (!mayDo(callerOf(request), 'report')) return void sendProblem(reply, problem('not_permitted'));
    sendResult(reply, await this.results.at(opaque));
  }
}
