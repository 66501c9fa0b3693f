import type { CatalogueFile } from '../../services/config/catalogue/catalogue-file.ts'

/** Formats the data file deterministically, with a line for each model, so that diffs show which changed. */
export function catalogueText ({ providers, ...head }: CatalogueFile): string {
  const lines = Object.entries(head).map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)},`)
  const sections = byName(providers).map(([id, models]) => {
    const rows = byName(models).map(([name, row]) => `${JSON.stringify(name)}:${JSON.stringify(row)}`)
    return `${JSON.stringify(id)}: {\n${rows.join(',\n')}\n}`
  })
  return `{\n${lines.join('\n')}\n"providers": {\n${sections.join(',\n')}\n}\n}\n`
}

function byName<Value> (record: Record<string, Value>): Array<[string, Value]> {
  return Object.entries(record).toSorted(([one], [other]) => one < other ? -1 : 1)
}
