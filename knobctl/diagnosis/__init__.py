"""Explains one answer of an engine: which floor bound, what the numbers can mean, what to change.

read -> answer; answer and the tenant's knobs -> diagnosis; two answers -> comparison. Pure: the words
are laid out in `knobctl.report.diagnosis`.
"""

from knobctl.diagnosis.answer import Answer, Surface
from knobctl.diagnosis.case import Action, Asked, Diagnosis, Remark, Verdict
from knobctl.diagnosis.comparing import Comparison, compare
from knobctl.diagnosis.diagnosing import diagnose
from knobctl.diagnosis.reading import read_answer
from knobctl.diagnosis.tenant_knobs import TenantKnobs

__all__ = [
    "Action",
    "Answer",
    "Asked",
    "Comparison",
    "Diagnosis",
    "Remark",
    "Surface",
    "TenantKnobs",
    "Verdict",
    "compare",
    "diagnose",
    "read_answer",
]
