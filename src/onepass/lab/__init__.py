"""The lab: teachers, students that learn from them, and the theory of how fast, on one axis.

    teachers      who gives the labels, and where the inputs lie
    simulate      many students at once, each with a seed of its own
    theory        exact errors, order-parameter equations, asymptotic laws
    curves        means, bands and power-law fits of what was simulated
    experiments   the figures of barkai1995 and their kin, as tables that can be drawn

>>> from onepass.lab import simulate, theory
>>> from onepass.lab.teachers import PerceptronTeacher
>>> from onepass.learners.normalized import Normalized
>>> from onepass.schedules import clean_optimum
>>> teacher, rule = PerceptronTeacher(N=50), Normalized(clean_optimum(50), 50)
>>> students = simulate.run(teacher, rule, alphas=[1000.0], replicas=500, seed=1)
>>> bool(abs(1000 * students.mean[0] - theory.clean_constant(2.0)) < 0.05)
True
"""
