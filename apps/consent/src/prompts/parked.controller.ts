import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '#platform/http-server';
import { ParkedCalls } from './parked-calls.ts';
import { send } from './prompts.controller.ts';

/** Requeue and skip of what waits for an operator (design 6). */
@Controller('api/parked')
export class ParkedController {
  constructor(@Inject(ParkedCalls) private readonly calls: ParkedCalls) {}

  @Post('requeue')
  @HttpCode(200)
  async requeue(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    send(reply, await this.calls.release('requeued', request.body, callerOf(request)));
  }

  @Post('skip')
  @HttpCode(200)
  async skip(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    send(reply, await this.calls.release('skipped', request.body, callerOf(request)));
  }
}
