// koffi, configured as it must be before the first library is loaded. All code that calls native functions imports it from here.
import koffi from 'koffi';

/** koffi runs native code on its own stacks, and ONNX Runtime's kernels need larger ones than the default. */
const STACK_BYTES = 16 * 1024 * 1024;

koffi.config({ sync_stack_size: STACK_BYTES, async_stack_size: STACK_BYTES });

export default koffi;
