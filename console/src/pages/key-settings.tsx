import type { JSX } from 'preact'
import { FormDialog } from '../parts/action.tsx'
import { typedBudget, useForm } from '../parts/form.ts'
import { saveChange } from '../parts/save-change.ts'
import { changeOf, KeyInputs, keyTexts, type KeyFieldName } from './key-fields.tsx'
import type { KnownKey } from './key-state.tsx'

interface SettingsProps {
  keyOf: KnownKey
  onChange (): void
  onClose (): void
}

/** Changes the settings of a key; sends the fields that were touched. */
export function KeySettings ({ keyOf: key, onChange, onClose }: SettingsProps): JSX.Element {
  const form = useForm<KeyFieldName>(keyTexts(key))
  const budget = form.isChanged('budget', 'period') && typedBudget(form.values)
  const path = `/admin/keys/${encodeURIComponent(key.id)}`
  async function save (): Promise<void> {
    const before = { ...changeOf(form.first, form.isChanged), ...form.isChanged('expires') && { expires_at: key.expires_at } }
    await saveChange({ path, name: key.label === '' ? key.id : key.label, change: changeOf(form.values, form.isChanged), before, onChange })
  }
  return (
    <FormDialog title='Settings of the key' does={budget ? `Save: ${budget}` : 'Save'} run={save} onClose={onClose}>
      <KeyInputs form={form} isUser={key.role === 'user'} hasLimits />
    </FormDialog>
  )
}
