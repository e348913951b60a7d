/** What a contact is called, some of whom have no last name. */
export const fullName = ({
  first_name,
  last_name,
}: {
  readonly first_name: string;
  readonly last_name: string;
}): string => `${first_name} ${last_name}`.trim();
