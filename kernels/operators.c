// The library of our operators for ONNX Runtime. For each there is a file with its name, which reads operands, and below it one that computes:
//
//   split-gemm.h         tasks.h              products of matrices
//   segment-attention.h  attention.h          attention while training, and its gradients
//   cached-attention.h   decoding.h           attention while sampling
//   delta-rule.h         delta-chunks.h       the gated delta rule while training, and its gradients
//   cached-delta-rule.h                       the gated delta rule while sampling, in one order for every batch
//   token-scores.h       logits.h             log-probabilities and entropies of tokens, with their gradients
//   row-program.h        row-instructions.h   element-wise functions and sums, many in one pass
//   causal-convolution.h                      depthwise convolutions, and their gradients
//   stored-rows.h        stored.h             embeddings in formats of weight files
//   tall-gemm.h                               gradients of adapters
//
// Products, attention and scores multiply with unit.h what packing.h has laid out, the delta rule with small-product.h.
// onnxruntime.h is what they use of ONNX Runtime's C API.

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#include "cached-attention.h"
#include "cached-delta-rule.h"
#include "causal-convolution.h"
#include "delta-rule.h"
#include "platform.h"
#include "processor.h"
#include "row-program.h"
#include "segment-attention.h"
#include "split-gemm.h"
#include "stored-rows.h"
#include "tall-gemm.h"
#include "token-scores.h"

static const Operator *const operators[] = {&split_gemm,
                                            &segment_attention,
                                            &segment_attention_gradient,
                                            &cached_attention,
                                            &cached_attention_in_halves,
                                            &token_scores,
                                            &row_program,
                                            &stored_rows,
                                            &tall_gemm,
                                            &causal_convolution,
                                            &causal_convolution_gradient,
                                            &delta_rule,
                                            &delta_rule_gradient,
                                            &cached_delta_rule};

typedef struct {
  const OrtApi *(*GetApi)(uint32_t version);
} OrtApiBase;

/** ONNX Runtime calls it for each session that this library is registered with. */
EXPORTED OrtStatus *RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base) {
  static OrtCustomOpDomain *domain;
  OrtStatus *status = 0;
  if (!domain) {
    api = base->GetApi(25);
    status = api->CreateCustomOpDomain("gradus", &domain);
    for (size_t i = 0; i < sizeof operators / sizeof *operators && !status; i++) status = api->CustomOpDomain_Add(domain, operators[i]);
  }
  return status ? status : api->AddCustomOpDomain(options, domain);
}

/** Whether this process can use the unit, for which it also asks the system: 0 if it can, 1 if the processor has none, 2 if the system refuses. */
EXPORTED int gradus_request_unit(void) {
  if (!processor_fits()) return 1;
#if defined __AMX_TILE__ && defined __linux__
  const int request_permission = 0x1023, tile_data = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) ? 2 : 0;
#else
  return 0;
#endif
}
