import { createServer } from 'node:http';

export interface OtherSite {
  readonly url: string;
  /** What its page says of its tries when none had an effect that it could see. */
  readonly triedInVain: readonly string[];
  stop(): Promise<void>;
}

const TRIES = ['plain text', 'JSON', 'JSON without asking first', 'form'];

/**
 * A page on another origin of the same machine (so of the same site, whose cookies a browser would send) that tries
 * to have a call made for whoever looks at it.
 */
export async function startOtherSite(target: string, body: object): Promise<OtherSite> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(pageThatTries(target, JSON.stringify(body)));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/`,
    triedInVain: TRIES.map((what) => `${what}: nothing`),
    stop: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function pageThatTries(target: string, body: string): string {
  const [text, json, unasked, form] = TRIES;
  return `<!doctype html><meta charset="utf-8"><title>Other</title><ul></ul><iframe name="hidden"></iframe>
<form method="post" enctype="text/plain" target="hidden" action="${target}"><input name='{"accept":true,"x":"' value='"}'></form>
<script>
  const tell = (what, saw) => {
    document.querySelector('ul').append(Object.assign(document.createElement('li'), { textContent: what + ': ' + saw }));
  };
  const attempt = async (what, options) => {
    try {
      const { type, status } = await fetch(${JSON.stringify(target)}, { method: 'POST', credentials: 'include', ...options });
      tell(what, type === 'opaque' ? 'nothing' : 'status ' + status);
    } catch { tell(what, 'nothing'); }
  };
  const sent = () => new Promise((done) => {
    document.querySelector('iframe').addEventListener('load', done, { once: true });
    document.querySelector('form').submit();
  });
  (async () => {
    const body = ${JSON.stringify(body)};
    await attempt('${text}', { body, mode: 'no-cors' });
    await attempt('${json}', { body, headers: { 'content-type': 'application/json' } });
    await attempt('${unasked}', { body, mode: 'no-cors', headers: { 'content-type': 'application/json' } });
    await sent();
    tell('${form}', 'nothing');
    document.body.append('all tried');
  })();
</script>`;
}
