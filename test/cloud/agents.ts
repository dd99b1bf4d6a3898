import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { answerCall, type HttpAnswer } from './answering.ts';
import type { Cloud } from './cloud.ts';
import type { CloudInstance } from './instance.ts';
import type { Answer, CloudCall, Step } from './scripts.ts';

const Start = z.object({ intent: z.string(), workload: z.record(z.string(), z.unknown()) });

type OfPod = FastifyRequest<{ Params: { readonly pod: string } }>;

/** The agents of all pods, below `/agents/:pod`: what runs in a pod's image elsewhere. */
export function addAgents(server: FastifyInstance, cloud: Cloud): void {
  const answer = (
    request: OfPod,
    reply: FastifyReply,
    call: CloudCall,
    act: (pod: CloudInstance, atMs: number) => HttpAnswer,
  ) => {
    cloud.settle();
    const pod = cloud.existing('runpod').find(({ id }) => id === request.params.pod);
    if (pod === undefined || pod.state !== 'running' || !pod.agent.answers) {
      reply.hijack();
      reply.raw.socket?.resetAndDestroy();
      return undefined;
    }
    const token = pod.labels.SPILLWAY_AGENT_TOKEN;
    if (token === undefined || request.headers.authorization !== `Bearer ${token}`) {
      return reply.status(401).send({ error: 'unauthorized' });
    }
    return answerCall(
      cloud,
      { lane: 'runpod', call, act: (atMs) => act(pod, atMs), refuse: refusalOf },
      reply,
    );
  };

  server.get('/agents/:pod/spillway/status', (request: OfPod, reply) =>
    answer(request, reply, 'agent_status', (pod) => ({ status: 200, body: statusOf(pod) })),
  );
  server.post('/agents/:pod/spillway/bootstrap', (request: OfPod, reply) =>
    answer(request, reply, 'agent_bootstrap', (pod) => {
      cloud.bootstrap(pod);
      cloud.settle();
      return { status: 200, body: statusOf(pod) };
    }),
  );
  server.post('/agents/:pod/spillway/start', (request: OfPod, reply) => {
    const wanted = Start.safeParse(request.body);
    return answer(request, reply, 'agent_start', (pod, atMs) => {
      if (!wanted.success) return { status: 422, body: { error: 'bad_request' } };
      if (wanted.data.intent !== pod.mark.intent) return { status: 409, body: { error: 'other_intent' } };
      if (pod.agent.bootstrap !== 'complete') return { status: 409, body: { error: 'not_bootstrapped' } };
      // A repeat starts nothing: the machine remembers that it was started for this intent.
      cloud.startWorkload(pod, atMs);
      return { status: 200, body: statusOf(pod) };
    });
  });
}

function statusOf({ mark, agent, logAgeS }: CloudInstance) {
  return {
    intent: mark.intent,
    bootstrap: agent.bootstrap,
    workload: agent.workload,
    result: agent.result,
    log_age_s: logAgeS,
  };
}

function refusalOf(answer: Answer, step: Step): HttpAnswer {
  if (answer === 'rejected') return { status: step.status ?? 422, body: { error: 'start_failed' } };
  if (answer === 'auth') return { status: 401, body: { error: 'unauthorized' } };
  return { status: step.status ?? 500, body: { error: 'internal' } };
}
