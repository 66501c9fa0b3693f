type Completed<Fields, Other> = {
  [Key in keyof Fields]: Key extends keyof Other ? NonNullable<Fields[Key]> | Other[Key] : Fields[Key]
}

/** Returns the fields with `other` in place of those that are null. */
export function complete<Fields extends object, Other extends object> (
  fields: Fields, other: Other
): Completed<Fields, Other>
export function complete (fields: object, other: object): unknown {
  return Object.fromEntries(Object.entries(fields).map(([key, value]: [string, unknown]) => {
    return [key, value ?? Reflect.get(other, key) ?? null]
  }))
}
