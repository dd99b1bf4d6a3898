import { z } from 'zod';
import { logVariables } from '#platform/variables';

const { SPILLWAY_DATABASE_URL } = logVariables;

/** What the migration before the apps reads from its environment. */
export const MigrateConfig = z.object({
  SPILLWAY_ADMIN_DATABASE_URL: SPILLWAY_DATABASE_URL.meta({
    description: 'The same database under a login that may create roles and a schema.',
    orFile: true,
  }),
  SPILLWAY_DATABASE_URL: SPILLWAY_DATABASE_URL.meta({
    description:
      'What the apps are given: its login is made, or gets this password, and may be spillway_app only.',
    orFile: true,
  }),
  SPILLWAY_AUDIT_DATABASE_URL: SPILLWAY_DATABASE_URL.optional().meta({
    description:
      'What the audit is given: its login is made, or gets this password, and may be spillway_audit only. Absent = none is made.',
    orFile: true,
  }),
});
