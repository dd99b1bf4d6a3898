import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '#platform/auth';
import { mayDo } from '#platform/auth';
import { callerOf, sendProblem } from '#platform/http-server';
import { problem } from '#platform/problem';
import { AuditCalls, type AuditResult } from './views/audit-calls.ts';

/** The reading part of the audit, for callers with the scope `audit` (design 3). Nothing here changes anything. */
@Controller('api/audit')
export class AuditController {
  constructor(@Inject(AuditCalls) private readonly calls: AuditCalls) {}

  @Get('overview')
  overview(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return answer(request, reply, (caller) => this.calls.overview(caller));
  }

  @Get('allocations')
  list(@Query() query: unknown, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return answer(request, reply, (caller) => this.calls.list(query, caller));
  }

  @Get('allocations/:ref')
  allocation(
    @Param('ref') ref: string,
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return answer(request, reply, (caller) => this.calls.allocation(ref, query, caller));
  }

  @Get('allocations/:ref/state')
  state(
    @Param('ref') ref: string,
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return answer(request, reply, () => this.calls.state(ref, query));
  }
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  call: (caller: Caller) => Promise<AuditResult>,
): Promise<void> {
  const caller = callerOf(request);
  if (!mayDo(caller, 'audit')) return void sendProblem(reply, problem('not_permitted'));
  const result = await call(caller);
  if (result.kind === 'refused') return void sendProblem(reply, result.problem);
  // It may hold a name: it is kept nowhere on the way.
  void reply.status(200).header('cache-control', 'no-store').send(result.body);
}
