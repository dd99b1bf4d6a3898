import { sql as log } from './0001-log.ts';
import { sql as tables } from './0002-tables.ts';
import { sql as append } from './0003-append.ts';
import { sql as alerts } from './0004-alerts.ts';
import { sql as importing } from './0005-import.ts';
import { sql as overview } from './0006-overview.ts';
import { sql as questions } from './0007-questions.ts';
import { sql as notices } from './0008-notices.ts';
import { sql as steps } from './0009-steps.ts';
import { sql as beside } from './append-beside.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** In order. One that was released is never edited: what it says stands in databases already. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'log', sql: log },
  { version: 2, name: 'tables', sql: tables },
  { version: 3, name: 'append', sql: beside + append },
  { version: 4, name: 'alerts', sql: alerts },
  { version: 5, name: 'import', sql: importing },
  { version: 6, name: 'overview', sql: overview },
  { version: 7, name: 'questions', sql: questions },
  { version: 8, name: 'notices', sql: notices },
  { version: 9, name: 'steps', sql: steps },
];

/** The newest one's version; numbers may be left out. */
export const SCHEMA_VERSION = Math.max(...MIGRATIONS.map(({ version }) => version));
