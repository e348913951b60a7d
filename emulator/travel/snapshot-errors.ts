/** No snapshot has that name. */
export class SnapshotNotFoundError extends Error {
  override readonly name = "SnapshotNotFoundError";
  readonly wanted: string;
  /** The names that there are. */
  readonly known: readonly string[];

  constructor(wanted: string, there: readonly { readonly name: string }[]) {
    const known = there.map(({ name }) => name);
    super(`Snapshot ${wanted} not found. Known: ${known.join(", ") || "none"}`);
    this.wanted = wanted;
    this.known = known;
  }
}

/** A snapshot has that name, or one that differs in case alone. */
export class SnapshotExistsError extends Error {
  override readonly name = "SnapshotExistsError";
  readonly taken: string;

  constructor(taken: string) {
    super(`Snapshot ${taken} already exists. Use another name, or { replace: true }`);
    this.taken = taken;
  }
}

/** A snapshot that cannot be used: damaged, of another version, or none. Nothing was changed. */
export class InvalidSnapshotError extends Error {
  override readonly name = "InvalidSnapshotError";
  readonly snapshot: string;
  readonly reason: string;

  constructor(snapshot: string, reason: string, options: { readonly cause?: unknown } = {}) {
    super(`Cannot use snapshot ${snapshot}: ${reason}`, options);
    this.snapshot = snapshot;
    this.reason = reason;
  }
}
