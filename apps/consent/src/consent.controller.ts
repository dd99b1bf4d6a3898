import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, headerText, sendProblem } from '#platform/http-server';
import { ConsentCalls } from './consent-calls.ts';

/** `POST .../consent` (fallback 1.2). */
@Controller('api/agent/gpu-allocation')
export class ConsentController {
  constructor(@Inject(ConsentCalls) private readonly calls: ConsentCalls) {}

  @Post('consent')
  @HttpCode(200)
  async consent(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const result = await this.calls.consent({
      body: request.body,
      sentId: headerText(request, 'idempotency-key'),
      messageName: null,
      caller: callerOf(request),
    });
    if (result.kind === 'refused') sendProblem(reply, result.problem);
    else void reply.status(200).header('cache-control', 'no-store').send(result.body);
  }
}
