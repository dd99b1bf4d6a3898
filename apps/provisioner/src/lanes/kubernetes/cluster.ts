import {
  CoreV1Api,
  createConfiguration,
  IsomorphicFetchHttpLibrary,
  type KubeConfig,
  type RequestContext,
  ResponseContext,
  ServerConfiguration,
  type V1Pod,
  wrapHttpLibrary,
} from '@kubernetes/client-node';
import { failedBeforeSending, type HttpReply, retryAfterS } from '../exchange.ts';

/** The calls that the lane needs, each answered with what came back over the wire. No call rejects. */
export interface Pods {
  create(pod: V1Pod, deadlineMs: number): Promise<HttpReply>;
  read(name: string, deadlineMs: number): Promise<HttpReply>;
  /** A page of a consistent listing; `next` as the page before gave it. */
  list(next: string | null, deadlineMs: number): Promise<HttpReply>;
  /** Deletes only the pod of this uid. */
  remove(name: string, uid: string, deadlineMs: number): Promise<HttpReply>;
}

const PAGE_SIZE = 500;

/**
 * Pods of one namespace through the official client, which knows kubeconfigs, certificates and logins. It
 * retries nothing. Its own reading of answers is passed over: what came back is parsed by the lane.
 */
export function podsOf(config: KubeConfig, namespace: string): Pods {
  const server = config.getCurrentCluster()?.server ?? '';
  const api = new CoreV1Api(
    createConfiguration({
      baseServer: new ServerConfiguration(server, {}),
      authMethods: { default: config },
    }),
  );
  return {
    create: (body, deadlineMs) =>
      overTheWire(deadlineMs, (httpApi) => api.createNamespacedPod({ namespace, body }, { httpApi })),
    read: (name, deadlineMs) =>
      overTheWire(deadlineMs, (httpApi) => api.readNamespacedPod({ namespace, name }, { httpApi })),
    list: (next, deadlineMs) =>
      overTheWire(deadlineMs, (httpApi) =>
        api.listNamespacedPod(
          { namespace, limit: PAGE_SIZE, ...(next === null ? {} : { _continue: next }) },
          { httpApi },
        ),
      ),
    remove: (name, uid, deadlineMs) =>
      overTheWire(deadlineMs, (httpApi) =>
        api.deleteNamespacedPod({ namespace, name, body: { preconditions: { uid } } }, { httpApi }),
      ),
  };
}

type HttpApi = ReturnType<typeof wrapHttpLibrary>;

const wire = new IsomorphicFetchHttpLibrary();

async function overTheWire(
  deadlineMs: number,
  call: (httpApi: HttpApi) => Promise<unknown>,
): Promise<HttpReply> {
  const signal = AbortSignal.timeout(Math.max(1, Math.ceil(deadlineMs)));
  const seen: { sending: boolean; reply: HttpReply | null } = { sending: false, reply: null };
  const send = async (request: RequestContext): Promise<ResponseContext> => {
    // The login before it may have used up the time: then nothing is sent any more.
    signal.throwIfAborted();
    request.setSignal(signal);
    seen.sending = true;
    const response = await wire.send(request).toPromise();
    const text = await response.body.text();
    seen.reply = {
      kind: 'answered',
      status: response.httpStatusCode,
      retryAfterS: retryAfterS(response.headers),
      text,
      json: jsonOf(text),
    };
    const body = { text: async () => text, binary: async () => Buffer.from(text) };
    return new ResponseContext(response.httpStatusCode, response.headers, body);
  };
  try {
    await Promise.race([call(wrapHttpLibrary({ send })), aborted(signal)]);
  } catch (error) {
    // A refusal or an unreadable body has been seen all the same.
    if (seen.reply !== null) return seen.reply;
    const sent = seen.sending && !failedBeforeSending(error);
    return { kind: 'unanswered', sent, text: error instanceof Error ? error.message : 'no answer' };
  }
  return seen.reply ?? { kind: 'unanswered', sent: seen.sending, text: 'no answer' };
}

/** Rejects when the time is over, whatever the call is waiting for. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
