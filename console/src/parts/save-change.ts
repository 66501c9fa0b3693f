import { call } from '../api/fetch.ts'
import { announce } from './toast.tsx'

interface SettingsChange {
  path: string
  /** What was changed, as it is shown. */
  name: string
  /** The fields that were touched, with their new and their old values. */
  change: object
  before: object
  onChange (): void
}

/** Sends the touched fields, if there are any, and offers to send their old values. */
export async function saveChange ({ path, name, change, before, onChange }: SettingsChange): Promise<void> {
  if (Object.keys(change).length === 0) return
  await call(path, { method: 'PATCH', body: change })
  onChange()
  announce(`Changed ${name}.`, async () => {
    await call(path, { method: 'PATCH', body: before })
    onChange()
  })
}
