/**
 * Roles belong to the cluster, not to the database, so another database may be making them at this moment:
 * losing that race is success. None may log in. Logins are made members of them by whoever runs the cluster.
 *   owner  owns every object; no app ever assumes it
 *   app    reads the log, calls the append function
 *   audit  reads
 *   admin  requeue, skip, erase, repartition
 */
export const ROLES_SQL = `
do $$
declare
  role_name text;
begin
  foreach role_name in array array['spillway_owner', 'spillway_app', 'spillway_audit', 'spillway_admin'] loop
    if not exists (select from pg_roles where rolname = role_name) then
      begin
        execute format('create role %I nologin', role_name);
      exception when duplicate_object or unique_violation then
        null;
      end;
    end if;
  end loop;
  -- Who migrates must be able to hand objects to the owner. A superuser is by nature.
  if not pg_has_role(current_user, 'spillway_owner', 'member') then
    execute format('grant spillway_owner to %I', current_user);
  end if;
end $$;
`;
