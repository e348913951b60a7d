const [v1, v21] = ["/api/v1/public", "/api/v2.1/public"];
const contract = `${v21}/contracts/{contract_id}`;

/**
 * Public routes of the service whose bodies are not public (DECISIONS.md, F23), with what they are
 * about. The emulator answers them 501: 404 would say that the service does not have them. `*`: whatever follows.
 */
export const notEmulated = [
  { path: `${contract}/related_contracts/`, about: "the contracts that hang on one another" },
  { path: `${contract}/authorized_users/`, about: "who may see a contract" },
  { path: `${contract}/invite/`, about: "letting somebody see a contract" },
  { path: `${contract}/uninvite/`, about: "letting somebody see it no longer" },
  { path: `${contract}/uninvite_all/`, about: "letting nobody else see it" },
  { path: `${contract}/obligations/*`, about: "obligations of a contract" },
  { path: `${contract}/tasks/bulk/`, about: "tasks about a contract" },
  { path: `${v21}/contracts/{composite_id}/content/scanned`, about: "the text of scanned pages" },
  { path: `${v21}/contract_types/{contract_type_id}/access_control`, about: "who may use a contract type" },
  { path: `${v21}/key_pointers/field-name-mapping/`, about: "other names of key pointers" },
  { path: `${v21}/auth/*`, about: "roles, their members and users, beyond the two lists" },
  { path: `${v21}/user_tasks/`, about: "tasks of users" },
  { path: `${v21}/facets/*`, about: "the values that lists can be filtered by" },
  { path: `${v21}/feature-flags/`, about: "what a workspace has switched on" },
  { path: `${v21}/sidebar/*`, about: "the assistant beside a document" },
  { path: `${v1}/contracts/`, about: "the older list of contracts" },
  { path: `${v1}/users/*`, about: "making and changing users" },
  { path: `${v1}/view-email/*`, about: "the e-mails of a contract" },
  { path: `${v1}/obligations/types/`, about: "kinds of obligations" },
] as const;

/** What a path is about that the service has and the emulator has not; undefined for any other path. */
export function aboutNotEmulated(path: string): string | undefined {
  const given = path.split("/");
  // The slash at the end may be left out.
  if (given.at(-1) === "") given.pop();
  return routes.find(({ names, isPrefix }) => {
    const isLong = isPrefix ? given.length >= names.length : given.length === names.length;
    return isLong && names.every((name, i) => (name.startsWith("{") ? given[i] !== "" : given[i] === name));
  })?.about;
}

const routes = notEmulated.map(({ path, about }) => ({
  about,
  names: path.replace(/\/\*?$/, "").split("/"),
  isPrefix: path.endsWith("*"),
}));
