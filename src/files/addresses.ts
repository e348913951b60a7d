import { BlockList, isIP } from "node:net";

/** Creates a list of addresses and ranges, such as 10.0.0.0/8. Throws TypeError if one is invalid. */
export function createAddressList(...ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [, address = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(range) ?? [];
    const version = isIP(address);
    if (version === 0) throw new TypeError(`must be an address or a range (10.0.0.0/8), got "${range}"`);
    list.addSubnet(address, Number(bits ?? (version === 4 ? 32 : 128)), version === 4 ? "ipv4" : "ipv6");
  }
  return list;
}

/** Returns whether the list includes an address. IPv4 addresses match in any notation. */
export function includesAddress(list: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && list.check(address, version === 4 ? "ipv4" : "ipv6");
}
