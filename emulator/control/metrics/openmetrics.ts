type Labels = Readonly<Record<string, string>>;

/** A value with what tells it from others of its family. */
export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** Values that belong together. */
export type Family = {
  readonly name: string;
  readonly help: string;
  /** The last part of its name, where it has one. */
  readonly unit?: "seconds" | "bytes" | "ratio";
} & (
  | { readonly type: "counter" | "gauge"; readonly samples: readonly Sample[] }
  | { readonly type: "histogram"; readonly histograms: readonly Histogram[] }
);

export interface Histogram {
  readonly labels: Labels;
  /** Upper bounds. */
  readonly bounds: readonly number[];
  /** How many are in each, beyond the one before; the last are beyond all. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** The text of an exposition (OpenMetrics 1.0.0). */
export const openMetrics = (families: readonly Family[]): string => `${families.flatMap(linesOf).join("\n")}\n# EOF\n`;

function linesOf(family: Family): string[] {
  const { name, help, type, unit } = family;
  return [
    `# TYPE ${name} ${type}`,
    ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${escaped(help)}`,
    ...(family.type === "histogram"
      ? family.histograms.flatMap((one) => histogramLines(name, one))
      : family.samples.map(({ labels, value }) => line(type === "counter" ? `${name}_total` : name, labels, value))),
  ];
}

function histogramLines(name: string, { labels, bounds, counts, sum }: Histogram): string[] {
  let below = 0;
  const buckets = counts.map((count, i) => {
    below += count;
    return line(`${name}_bucket`, { ...labels, le: i < bounds.length ? decimal(bounds[i]!) : "+Inf" }, below);
  });
  return [...buckets, line(`${name}_count`, labels, below), line(`${name}_sum`, labels, sum)];
}

const line = (name: string, labels: Labels = {}, value: number): string => `${name}${braced(labels)} ${value}`;

function braced(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');

/** Bounds are floating-point numbers, and are to look so. */
const decimal = (bound: number): string => (Number.isInteger(bound) ? `${bound}.0` : String(bound));
