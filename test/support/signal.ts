/** An event that happens once. */
export function createSignal(): { readonly signaled: Promise<void>; raise(): void } {
  let raise = () => {};
  const signaled = new Promise<void>((resolve) => {
    raise = resolve;
  });
  return { signaled, raise };
}
