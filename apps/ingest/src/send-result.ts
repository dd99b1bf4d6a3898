import type { FastifyReply } from 'fastify';
import { sendProblem } from '#platform/http-server';
import type { CallResult } from './call-result.ts';

/** A call's end as HTTP; answers may hold a token and are kept nowhere on the way. */
export function sendResult(reply: FastifyReply, result: CallResult): void {
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
