/** What the example uses of it: Vitest is installed for the run that has it (`test/packaged/runners.test.ts`). */
declare module "vitest" {
  export const afterEach: (after: () => unknown) => void;
  export const beforeEach: (before: () => unknown) => void;
  export const it: (name: string, test: () => unknown) => void;
  export const expect: (actual: unknown) => {
    toBe(expected: unknown): void;
    toHaveLength(expected: number): void;
  };
}
