import { formatSuggestion } from "../../base/text.ts";
import type { Context } from "../command.ts";
import { UsageError } from "../failure.ts";
import { readProfileName } from "../settings.ts";
import { changePrivateFile } from "./private-file.ts";
import { checkProfiles, type Profile, type ProfileFile, profilesPath, readProfiles } from "./profile.ts";

const firstProfile = "default";

const changeFile = ({ host, signal }: Context, change: (file: ProfileFile) => ProfileFile): Promise<ProfileFile> =>
  changePrivateFile<ProfileFile>(profilesPath(host.env), checkProfiles, host, signal, (content) =>
    change({ ...content, profiles: content?.profiles ?? {} }),
  );

export interface ChangedProfile {
  readonly name: string;
  /** It is the one that commands use from now on, and was not before: the first profile is the one that is meant. */
  readonly isNewlyCurrent: boolean;
}

/** Changes the named profile, or the current one; it is created if there is none, unless it must exist. */
export async function changeProfile(
  context: Context,
  change: (profile: Profile) => Profile,
  { mustExist = false }: { readonly mustExist?: boolean } = {},
): Promise<ChangedProfile> {
  const named = readProfileName(context)?.value;
  let name = named ?? firstProfile;
  let isNewlyCurrent = false;
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) {
    throw new UsageError(`Profile names must be letters, digits, dots, dashes and underscores, got "${name}"`);
  }
  await changeFile(context, (file) => {
    name = named ?? file.current ?? firstProfile;
    if (mustExist) refuseMissing(file, name);
    const before = Object.hasOwn(file.profiles, name) ? file.profiles[name]! : {};
    isNewlyCurrent = file.current === undefined;
    return { ...file, current: file.current ?? name, profiles: { ...file.profiles, [name]: change(before) } };
  });
  return { name, isNewlyCurrent };
}

export const useProfile = (context: Context, name: string): Promise<unknown> =>
  changeFile(context, (file) => {
    refuseMissing(file, name);
    return { ...file, current: name };
  });

export const removeProfile = (context: Context, name: string): Promise<unknown> =>
  changeFile(context, ({ current, ...file }) => ({
    ...(current === undefined || current === name ? {} : { current }),
    profiles: Object.fromEntries(Object.entries(file.profiles).filter(([known]) => known !== name)),
  }));

export const requireKnownProfile = async ({ host }: Context, name: string): Promise<void> =>
  refuseMissing(await readProfiles(host.env), name);

function refuseMissing({ profiles }: ProfileFile, name: string): void {
  if (Object.hasOwn(profiles, name)) return;
  const known = Object.keys(profiles);
  throw new UsageError(`Profile "${name}" not found.`, {
    hint:
      known.length > 0
        ? formatSuggestion(name, known)
        : "To create a profile, run svc config set router_url URL --profile NAME.",
  });
}
