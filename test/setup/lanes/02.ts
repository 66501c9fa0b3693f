import { runLane } from '../together.ts'

runLane(1)
