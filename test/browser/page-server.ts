import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { z } from 'zod';
import type {
  AllocationList,
  AllocationView,
  CallerView,
  OverviewView,
  PromptView,
} from '#domain/audit/views';
import { PROJECT } from '../architecture/planted-tree.ts';
import { closed, LOCAL } from './page-questions.ts';
import { allocationList, movedAllocation, overview } from './page-views.ts';

const BUILT = join(PROJECT, 'dist/apps/consent/ui');
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
/** What app `consent` sends: a page that needs more than this is broken. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const Answer = z.object({ accept: z.boolean() });

/** A call that the page made to change something. */
export interface Sent {
  readonly path: string;
  readonly body: unknown;
}

/** The page as built, in front of states that a test makes up: real HTTP, and no rules behind it. */
export class PageServer {
  caller: CallerView = LOCAL;
  overview: OverviewView = overview();
  list: AllocationList = allocationList();
  allocation: AllocationView = movedAllocation();
  /** Answers of the calls that match it are this status instead. */
  failing: { readonly path: RegExp; readonly status: number } | null = null;
  readonly sent: Sent[] = [];
  readonly asked: string[] = [];
  private readonly prompts = new Map<string, PromptView>();
  private readonly streams = new Set<ServerResponse>();
  private server: Server | null = null;
  private port = 0;
  private position = 0;

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The first time on a free port, after `stop` on the same again. */
  async start(): Promise<void> {
    const server = createServer((request, response) => void this.respond(request, response));
    await new Promise<void>((listening) => server.listen(this.port, '127.0.0.1', listening));
    const address = server.address();
    if (typeof address === 'object' && address !== null) this.port = address.port;
    this.server = server;
  }

  async stop(): Promise<void> {
    const { server } = this;
    if (server === null) return;
    this.server = null;
    const ended = new Promise<void>((done) => server.close(() => done()));
    server.closeAllConnections();
    this.streams.clear();
    await ended;
  }

  /** So many streams were opened so far. */
  streamsOpened = 0;

  /** Sets a question and tells every page. */
  tell(prompt: PromptView): void {
    this.prompts.set(prompt.originId, prompt);
    this.position += 1;
    const event = `event: prompt\nid: ${this.position}\ndata: ${JSON.stringify(prompt)}\n\n`;
    for (const stream of this.streams) stream.write(event);
  }

  /** Sets a question without telling. */
  set(prompt: PromptView): void {
    this.prompts.set(prompt.originId, prompt);
  }

  forget(): void {
    this.prompts.clear();
    this.sent.length = 0;
    this.asked.length = 0;
    this.failing = null;
    this.caller = LOCAL;
    this.overview = overview();
    this.list = allocationList();
    this.allocation = movedAllocation();
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    response.setHeader('content-security-policy', POLICY);
    response.setHeader('x-content-type-options', 'nosniff');
    this.asked.push(`${url.pathname}${url.search}`);
    const isDown = this.failing?.path.test(url.pathname) === true;
    if (url.pathname === '/api/prompts/stream' && !isDown) {
      this.stream(response);
      return;
    }
    const reply = await this.replyTo(request, url);
    response.writeHead(reply.status, { 'content-type': reply.type, 'cache-control': 'no-store' });
    response.end(reply.body);
  }

  private async replyTo(request: IncomingMessage, url: URL): Promise<Reply> {
    if (this.failing?.path.test(url.pathname) === true) {
      return refusal(this.failing.status, { title: 'Not now' });
    }
    if (!url.pathname.startsWith('/api/')) return fileAt(url.pathname);
    return request.method === 'POST'
      ? this.change(url.pathname, await bodyOf(request))
      : (this.read(url) ?? NOT_FOUND);
  }

  private stream(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write('event: ping\ndata: {}\n\n');
    this.streams.add(response);
    this.streamsOpened += 1;
    response.on('close', () => this.streams.delete(response));
  }

  private read({ pathname, searchParams }: URL): Reply | null {
    if (pathname === '/api/me') return json(this.caller);
    if (pathname === '/api/audit/overview') return json(this.overview);
    if (pathname === '/api/audit/allocations') return json(this.list);
    if (pathname === `/api/audit/allocations/${this.allocation.ref}`) return json(this.allocation);
    if (pathname === '/api/prompts') {
      const isWanted = searchParams.get('state') === 'closed';
      const prompts = [...this.prompts.values()].filter((prompt) => (prompt.closed !== null) === isWanted);
      return json({ prompts, next: null });
    }
    const prompt = this.byId(/^\/api\/prompts\/([^/]+)$/.exec(pathname)?.[1]);
    return prompt === undefined ? null : json(prompt);
  }

  private change(path: string, body: unknown): Reply {
    this.sent.push({ path, body });
    if (path.startsWith('/api/parked/')) return json({ ok: true });
    const prompt = this.byId(/^\/api\/prompts\/([^/]+)\/answer$/.exec(path)?.[1]);
    if (prompt === undefined) return NOT_FOUND;
    if (prompt.closed !== null) return refusal(409, { title: 'No question is open', prompt });
    const { accept } = Answer.parse(body);
    const ended = closed(prompt, { how: accept ? 'accepted' : 'declined', by: 'local' });
    this.tell(ended);
    return json({ ok: true, prompt: ended });
  }

  private byId(id: string | undefined): PromptView | undefined {
    return id === undefined
      ? undefined
      : [...this.prompts.values()].find((prompt) => prompt.id === decodeURIComponent(id));
  }
}

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
}

function json(body: unknown): Reply {
  return { status: 200, type: 'application/json', body: JSON.stringify(body) };
}

function refusal(status: number, members: object): Reply {
  const body = JSON.stringify({ type: 'about:blank', status, ...members });
  return { status, type: 'application/problem+json', body };
}

const NOT_FOUND = refusal(404, { title: 'Not found' });

function fileAt(path: string): Reply {
  const file = extname(path) === '' ? 'index.html' : normalize(path);
  try {
    const body = readFileSync(join(BUILT, file));
    return { status: 200, type: TYPES[extname(file)] ?? 'application/octet-stream', body };
  } catch {
    return NOT_FOUND;
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
