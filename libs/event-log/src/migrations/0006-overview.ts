/**
 * What a page over everything reads: counts by state from a small index alone, and the allocations in the order of
 * their newest change.
 */
export const sql = `
create index allocation_states on spillway.allocation (status, outcome);
create index allocation_newest on spillway.allocation (pos);
`;
