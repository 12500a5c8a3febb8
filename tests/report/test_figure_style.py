"""The one style of all pictures: it holds for what is added to a figure later, too."""

from elasticgnn.figures import legend_below, new_figure


def test_titles_and_legends_have_the_style_whatever_matplotlib_is_set_to():
    figure = new_figure()
    (axes,) = figure.axes
    axes.plot([1, 2], label="a")
    axes.set(title="small enough for its panel")
    legend = axes.legend()
    assert axes.title.get_fontsize() == 10
    assert not legend.get_frame_on()


def test_a_legend_below_lists_every_label_once():
    figure = new_figure(2)
    for axes in figure.axes:
        axes.plot([1, 2], label="a")
    figure.axes[1].plot([2, 1], label="b")
    legend_below(figure, 2, "lines")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
