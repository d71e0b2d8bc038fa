"""The data of a search: tables read and checked, their columns, how many digits their numbers have."""
