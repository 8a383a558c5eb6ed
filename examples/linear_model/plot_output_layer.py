"""
================================
The output layer of a classifier
================================

A linear classifier predicts the class whose weights have the largest inner product with
the input. With many classes and wide inputs most of the work is spent on classes that
are nowhere near.
"""

# %%
# 200 classes in 4,000 dimensions. Any linear classifier will do.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeClassifier

from sklearn_bandit.linear_model import MIPSPredictor

rng = np.random.default_rng(0)
n_classes, n_features = 200, 4000
centres = rng.standard_normal((n_classes, n_features))
y = np.repeat(np.arange(n_classes), 3)
X = (centres[y] + rng.standard_normal((len(y), n_features))).astype(np.float32)
predictor = MIPSPredictor(RidgeClassifier(), layout="sample", random_state=0)
predictor.fit(X, y)

# %%
# The predictor searches among the weights of the fitted classifier, with the intercept
# as one more of them. ``layout="sample"`` samples the features, which counts
# multiplications; the default reads a copy of the weights in bytes and is exact.
classifier = predictor.estimator_
counts, agree = [], []
inputs = (centres + rng.standard_normal(centres.shape)).astype(np.float32)
expected = classifier.predict(inputs)
for i in range(len(inputs)):
    agree.append(predictor.predict(inputs[i : i + 1])[0] == expected[i])
    counts.append(predictor.search_.n_multiplications_[0])
saved = classifier.coef_.size / np.mean(counts)
print(f"same class: {np.mean(agree):.1%}; multiplications: {saved:.0f} times fewer")

# %%
# It also finds the classes that come next.
print(predictor.top_classes(inputs[:3], 4))

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.hist(np.array(counts) / classifier.coef_.size, bins=30)
ax.set(xlabel="share of all multiplications", ylabel="inputs")
plt.show()
