interface Primable {
  readonly id: number;
  readonly is_primary: boolean;
}

/** The list with a row put in place of the one with its id; when that one is primary, no other stays so. */
export const ensureSinglePrimary = <Row extends Primable>(rows: readonly Row[], changed: Row): Row[] =>
  rows.map((row) => {
    if (row.id === changed.id) return changed;
    return changed.is_primary && row.is_primary ? { ...row, is_primary: false } : row;
  });
