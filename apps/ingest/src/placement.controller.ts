import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { mayDo } from '#platform/auth';
import { callerOf, headerText, sendProblem } from '#platform/http-server';
import { problem } from '#platform/problem';
import type { CallResult } from './call-result.ts';
import { LaunchCalls, type MessageSent } from './launch-calls.ts';
import { ObservationCalls } from './observation-calls.ts';
import { sendResult } from './send-result.ts';

/** `POST .../launch` and `POST .../observation` (failover 2.1, 2.2). */
@Controller('api/agent/gpu-allocation')
export class PlacementController {
  constructor(
    @Inject(LaunchCalls) private readonly launches: LaunchCalls,
    @Inject(ObservationCalls) private readonly observations: ObservationCalls,
  ) {}

  @Post('launch')
  @HttpCode(202)
  launch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return answer(request, reply, (sent) => this.launches.launch(sent));
  }

  @Post('observation')
  @HttpCode(200)
  observation(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return answer(request, reply, (sent) => this.observations.observe(sent));
  }
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  call: (sent: MessageSent) => Promise<CallResult>,
): Promise<void> {
  const caller = callerOf(request);
  if (!mayDo(caller, 'report')) return void sendProblem(reply, problem('not_permitted'));
  const result = await call({
    body: request.body,
    sentId: headerText(request, 'idempotency-key'),
    messageName: null,
    subject: caller.subject,
  });
  sendResult(reply, result);
}
