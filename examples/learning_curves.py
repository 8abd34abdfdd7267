"""
The lab: how fast can a perceptron learn?
=========================================

A student perceptron learns from a teacher. With the best schedule its error falls as 1.27/α, α being the number of
examples per input; with a constant rate it stops falling, and if it is never normalised it falls as α^(−1/3). Theory
and simulation on one axis, after Barkai, Seung and Sompolinsky.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass.lab import simulate, theory
from onepass.lab.teachers import PerceptronTeacher
from onepass.learners.normalized import Normalized
from onepass.schedules import Constant, clean_optimum

N = 50
alphas = np.geomspace(1, 1000, 40)
teacher = PerceptronTeacher(N=N)
rates = {"best schedule": clean_optimum(N), "constant rate": Constant(0.5)}
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
for (name, schedule), colour in zip(rates.items(), ("#0072B2", "#D55E00"), strict=True):
    students = simulate.run(teacher, Normalized(schedule, N), alphas, replicas=200, seed=1)
    low, high = students.band(0.9)
    axes.fill_between(alphas, low, high, color=colour, alpha=0.15)
    axes.plot(alphas, students.mean, color=colour, label=name)
    axes.plot(alphas, theory.clean_flow(schedule, N, alphas).error, "--", color="0.2", linewidth=1)
    print(name, students.fit(100, 1000))
axes.plot(alphas, theory.clean_constant(2.0) / alphas, ":", color="0.4", label=f"{theory.clean_constant(2.0):.3f}/α")
axes.set(xscale="log", yscale="log", xlabel="α: examples per input", ylabel="generalization error", ylim=(8e-4, 1))
axes.legend(frameon=False, title="dashed: the theory's equations")
plt.show()
