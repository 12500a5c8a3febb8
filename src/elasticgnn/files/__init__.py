"""Files written whole or not at all, and text from files made safe to show."""

from elasticgnn.files.digest import file_digest as file_digest
from elasticgnn.files.digits import significant as significant
from elasticgnn.files.folder import fill_folder as fill_folder
from elasticgnn.files.lines import append_line as append_line
from elasticgnn.files.output import PICTURES as PICTURES
from elasticgnn.files.output import check_apart as check_apart
from elasticgnn.files.output import check_folder as check_folder
from elasticgnn.files.output import check_output as check_output
from elasticgnn.files.output import check_picture as check_picture
from elasticgnn.files.table_text import csv_text as csv_text
from elasticgnn.files.visible import first_line as first_line
from elasticgnn.files.visible import hide_password as hide_password
from elasticgnn.files.visible import markdown_text as markdown_text
from elasticgnn.files.visible import one_line as one_line
from elasticgnn.files.visible import visible as visible
from elasticgnn.files.whole import whole_file as whole_file
from elasticgnn.files.whole import write_whole as write_whole
