/**
 * The tables of a store, step by step: each makes those of one version those of the next, and stays as it is once it was
 * released. What the rows of `journal` and the documents hold has versions of its own (`file/format.ts`).
 */
export const migrations: readonly string[] = [
  `
  create table leadership (
    one boolean primary key default true check (one),
    -- Raised by whoever begins to lead: what is written under an earlier one is refused.
    epoch bigint not null default 0,
    -- Raised by the one that leads, all the time it does.
    beat bigint not null default 0,
    renewed timestamptz not null default now(),
    -- The instance that leads; null: the last one has handed over.
    leader text,
    -- Its server process, which holds the lock.
    backend integer,
    -- The database that it leads: in a copy of it, nobody leads.
    database text,
    -- Where its listeners are.
    address jsonb,
    -- The token of the control plane: all processes have one.
    token text
  );
  insert into leadership default values;

  -- One row a group commit: its lines as a journal file holds them, by the number of the last one.
  create table journal (
    last bigint primary key,
    first bigint not null,
    lines text not null,
    -- The svc that wrote them: rows in lines of this very version need no look when they are gone back to.
    written_by text
  );
  -- What is compressed here would take longer to write than to write it as it is.
  alter table journal alter column lines set storage external;

  -- What is too long for one row: bases (the state of one moment), snapshots, uploaded bytes.
  create table documents (
    id bigint generated always as identity primary key,
    kind text not null,
    name text not null,
    -- False while it is being written.
    whole boolean not null default false,
    bytes bigint not null default 0,
    made timestamptz not null default now(),
    unnamed_since timestamptz,
    -- Of a base: the last line of the journal that is in it, and, once another base has followed it, the bytes of the
    -- lines between the two. Bases and lines before the present base are what led to the present state.
    last_line bigint,
    followed_by bigint not null default 0
  );
  create unique index documents_name on documents (kind, lower(name)) where whole;
  create table pieces (
    document bigint not null references documents on delete cascade,
    piece integer not null,
    lines text,
    bytes bytea,
    primary key (document, piece),
    check (num_nonnulls(lines, bytes) = 1)
  );
  alter table pieces alter column lines set storage external, alter column bytes set storage external;
  `,
];
