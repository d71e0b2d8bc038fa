// What the page tells: one sentence on each unit, and the stories that one click starts. Every "Adam gets stuck" and
// "Adam arrives" below is checked by tests/docs with the page's own engine, from the start named here.
"use strict";

const ABOUT = {
  NAC: "Neural accumulator: a sum whose weights are squashed by tanh · σ, so that −1, 0 and 1 are reached only at infinity. DuJardin (2025) calls this very map Hill Space.",
  NAU: "Neural addition unit: a plain sum with weights kept in [−1, 1] and gently pulled to −1, 0 or 1.",
  NMU: "Neural multiplication unit: a weight of 1 multiplies by its input, a weight of 0 multiplies by one.",
  SNMU: "Stochastic NMU: noise multiplies the inputs in training and is divided out again, so that only the true solution keeps still.",
  MulNAC: "Multiplicative NAC: a sum of logarithms; signs of the inputs are lost.",
  NALU: "Neural arithmetic logic unit: a gate that looks at the input mixes a sum and a product that share one weight.",
  INALU: "Improved NALU: separate weights for sum and product, signs kept, a gate that does not look at the input.",
  NRU: "Neural reciprocal unit: a weight of 1 multiplies, −1 divides, 0 ignores the input.",
  NMRU: "Neural multiplicative reciprocal unit: an NMU that also sees the reciprocals; signs are carried by a cosine.",
  RealNPU: "Real neural power unit: products of powers, a gate per input, and a cosine that carries signs.",
  NPU: "Neural power unit: the Real NPU with imaginary exponents v as well.",
};

const OPERATION_NAMES = { add: "a + b", sub: "a − b", mul: "a × b", div: "a ÷ b" };

// seed: which of the library's starts; axes: the two parameters on the map;
// ruleUnit: what the rule trains instead of a gated unit; adam: what training with the published recipe ends in, "solved" or "stuck".
const STORIES = [
  {
    id: "easy", title: "The easy case", brief: "NAU learns a + b",
    unit: "NAU", operation: "add", range: "U[1,2)", seed: 0, adam: "solved",
    text: "The error of a sum is a bowl: wherever you start, downhill leads to the solution. Adam needs thousands of small steps for it, the rule a handful.",
    source: "Published and measured: all 25 seeds succeed on all nine ranges (Madsen and Johansen 2020; Mistry 2023).",
  },
  {
    id: "trap", title: "A trap in the corner", brief: "NMU on [−1.2, −1.1)",
    unit: "NMU", operation: "mul", range: "U[-1.2,-1.1)", seed: 4, adam: "stuck",
    text: "With both weights at 0 the unit answers 1, close to the target of about 1.3. Leaving that corner means going uphill first, so Adam stays in it. Drag the point across the saddle and try again.",
    source: "Published: 17 of 25 seeds succeed on this range; measured here: 21 of 25.",
  },
  {
    id: "noise", title: "Noise shakes it loose", brief: "sNMU, same start",
    unit: "SNMU", operation: "mul", range: "U[-1.2,-1.1)", seed: 4, adam: "solved",
    text: "The same start and the same data as in the trap. Noise multiplies the inputs and is divided out again: at the solution it cancels, everywhere else it moves the landscape under your feet. Press “New noise” to see it move.",
    source: "Mistry et al. 2022, “Reversible Stochasticity”: all seeds succeed, published and measured.",
  },
  {
    id: "plateau", title: "Whole numbers at infinity", brief: "NAC learns a − b",
    unit: "NAC", operation: "sub", range: "U[1.1,1.2)", seed: 0, adam: "stuck", axes: [2, 3],
    text: "tanh and σ reach 1 only at infinity, and the way there is a plateau without slope. After 50,000 steps the weights are still decimals. The rule steps in the weights themselves and writes whole numbers.",
    source: "Measured here: 0 of 25 seeds succeed; published as near 0 (Mistry 2023, section 3.3).",
  },
  {
    id: "signs", title: "Signs through a cosine", brief: "Real NPU on mixed signs",
    unit: "RealNPU", operation: "mul", range: "U[-2,2)", seed: 0, adam: "stuck",
    text: "Half of all targets are negative. The cosine that makes signs possible also makes waves, and Adam settles in one of them with weights that are not whole.",
    source: "Measured here: 6 of 25 seeds succeed; the paper reports the NPU above the Real NPU on this range only.",
  },
  {
    id: "gate", title: "A gate of two minds", brief: "NALU on mixed signs",
    unit: "NALU", operation: "add", range: "U[-2,2)", seed: 3, adam: "stuck", ruleUnit: "NAU", axes: [4, 5],
    text: "The gate looks at the inputs: where a + b changes its sign, the gate swings from the sum to the product. Both weights arrive at 1 and the answer is still wrong on half of the plane, as the surface shows.",
    source: "Measured here: 0 of 25 seeds succeed. A gate without a grid cannot be exact, so the rule trains an NAU on the same data.",
  },
  {
    id: "abyss", title: "Beside the abyss", brief: "NRU divides near zero",
    unit: "NRU", operation: "div", range: "U[-0.1,0.1)", seed: 1, adam: "stuck",
    text: "1 ÷ b explodes where b is close to zero, so the solution lies beside a cliff: a weight a little too far from −1 costs a fortune. Adam flees to the safe side and ends up multiplying.",
    source: "Published: the NRU solves 17 % of its runs close to zero; measured here 13 % (Mistry et al. 2022, division).",
  },
];

if (typeof module !== "undefined") module.exports = { ABOUT, STORIES };
