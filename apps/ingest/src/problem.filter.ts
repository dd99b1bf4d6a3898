import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { answerError } from '#platform/http-server';
import type { Logger } from '#platform/logger';

/** Hands every error that reaches the edge to the one table of problems. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    answerError(host.switchToHttp().getResponse<FastifyReply>(), error, this.logger);
  }
}
