import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

/** Whether the log can be reached now, and takes what is reported. */
export class LogHealth {
  constructor(readonly reachable: () => boolean) {}
}

const ROUTES = ['POST /api/agent/gpu-allocation/attempt', 'POST /api/agent/gpu-allocation/consent'];

/** `GET /api/health` (fallback 1.3): no state, names or digests. */
@Controller('api/health')
export class HealthController {
  constructor(@Inject(LogHealth) private readonly log: LogHealth) {}

  @Get()
  health(@Res() reply: FastifyReply): void {
    const ok = this.log.reachable();
    const status = ok ? 'available' : 'unavailable';
    if (!ok) reply.status(503).header('retry-after', '1');
    void reply.send({
      ok,
      ...(ok ? {} : { status }),
      capabilities: { gpu_allocation_fallback: { status, grounded: true, routes: ROUTES } },
    });
  }
}
