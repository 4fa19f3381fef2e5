import { trapConfig } from '../config.ts'

export default trapConfig()
