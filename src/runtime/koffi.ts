// koffi, set up before the first library is loaded, as it must be. Everything native here goes through this import.
import koffi from 'koffi';

/** Native code runs on a stack of koffi's, and ONNX Runtime's kernels need more of it than the default. */
const STACK_BYTES = 16 * 1024 * 1024;

koffi.config({ sync_stack_size: STACK_BYTES, async_stack_size: STACK_BYTES });

export default koffi;
