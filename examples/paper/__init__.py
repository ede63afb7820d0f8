"""The paper's study: four data sets, two models, four numbers of columns and a free one."""
