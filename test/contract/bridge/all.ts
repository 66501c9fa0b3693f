import { runTogether } from '../../setup/together.ts'

runTogether(import.meta.dirname)
