"""From runs to results: programs (one pure step), back ends (torch, native), the training loop over cohorts."""
