import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { problemOfError, sendProblem } from '#platform/http-server';
import type { Logger } from '#platform/logger';

/** Every error that reaches the edge becomes a problem of the table; only our own mistakes are logged. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const refusal = problemOfError(error);
    if (refusal.name === 'internal') this.logger.error('call_failed', {}, error);
    sendProblem(host.switchToHttp().getResponse<FastifyReply>(), refusal);
  }
}
