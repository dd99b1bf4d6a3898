import { useEffect, useState } from 'preact/hooks';

/** A `Date` header has whole seconds and travels: less than this apart is no difference. */
const NOTICED_MS = 2_000;
let aheadMs = 0;

/** Now by the server's clock, in milliseconds: life times are the server's, whatever a phone's clock says. */
export function nowMs(): number {
  return Date.now() + aheadMs;
}

/** Learns from a response how far the server's clock is from this machine's. */
export function noteServerDate(header: string | null): void {
  const serverMs = header === null ? Number.NaN : Date.parse(header);
  if (Number.isNaN(serverMs)) return;
  const differenceMs = serverMs - Date.now();
  aheadMs = Math.abs(differenceMs) < NOTICED_MS ? 0 : differenceMs;
}

/** Now, told again every `everyMs`; it stands still while nobody can see the page. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(nowMs);
  useEffect(() => {
    const tell = () => {
      if (!document.hidden) setNow(nowMs());
    };
    const timer = setInterval(tell, everyMs);
    document.addEventListener('visibilitychange', tell);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', tell);
    };
  }, [everyMs]);
  return now;
}
