"""ResNet-50, where torchvision is not installed.

Source: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", CVPR 2016; the stride lies in the 3 x 3
convolution, as in torchvision's.
"""

import torch
from torch import nn


class Bottleneck(nn.Module):
    """Three convolutions beside a shortcut; four times as many channels come out as lie within."""

    def __init__(self, channels: int, inner: int, stride: int) -> None:
        super().__init__()
        self.within = nn.Sequential(
            nn.Conv2d(channels, inner, 1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(inplace=True),
            nn.Conv2d(inner, inner, 3, stride, 1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(inplace=True),
            nn.Conv2d(inner, 4 * inner, 1, bias=False),
            nn.BatchNorm2d(4 * inner),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels != 4 * inner:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, 4 * inner, 1, stride, bias=False), nn.BatchNorm2d(4 * inner))
        self.end = nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[rows, channels, height, width] -> [rows, 4 inner, height / stride, width / stride]."""
        return self.end(self.within(x) + self.shortcut(x))


def resnet50(classes: int = 1000) -> nn.Module:
    """From f32 [rows, 3, height, width] to [rows, classes]."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    channels = 64
    for inner, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            layers.append(Bottleneck(channels, inner, stride if i == 0 else 1))
            channels = 4 * inner
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))
