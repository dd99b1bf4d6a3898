import { RandomSchedule } from './random-schedule.ts';
const from=Number(process.argv[2]??1), n=Number(process.argv[3]??50);
const c=new Map<string,number>(); 
for(let s=from;s<from+n;s++){ const r=new RandomSchedule(s); await r.play(); const seen=new Set<string>(); for(const e of r.invariants.events){ let k:string=e.type; if(e.type==='AlertRaised') k+=' '+e.data.alert; if(e.type==='AllocationBlocked') k+=' '+e.data.reason; if(e.type==='FailoverDecided'||e.type==='FailoverPrompted') k+=' '+e.data.escalation.trigger; if(e.type==='WalkStarted') k+=' '+e.data.walk; if(e.type==='FailoverVoided') k+=' '+e.data.why; if(e.type==='IntentClosed') k+=' '+e.data.why; if(e.type==='CreateEnded') k+=' '+e.data.answer; seen.add(k);} for(const k of seen) c.set(k,(c.get(k)??0)+1); }
for(const [k,v] of [...c].sort()) console.log(String(v).padStart(5),k);
