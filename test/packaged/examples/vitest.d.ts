/**
 * The part of Vitest that the example uses. Vitest is installed only for the run of the example
 * (`test/packaged/runners.test.ts`).
 */
declare module "vitest" {
  export const afterEach: (after: () => unknown) => void;
  export const beforeEach: (before: () => unknown) => void;
  export const it: (name: string, test: () => unknown) => void;
  export const expect: (actual: unknown) => { toBe(expected: unknown): void; toHaveLength(expected: number): void };
}
