"""The playground: one page on which to drag the weights of units, put together from the files here."""
